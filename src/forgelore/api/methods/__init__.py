"""The methods of the facade, by job: what `History` can find, fetch, index, dedupe and answer."""
