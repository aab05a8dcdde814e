"""People in items: mentions, reviews, and questions that wait for an answer."""
