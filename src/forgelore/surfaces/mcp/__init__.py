"""The MCP server: forgelore for agents, over standard input and output or over HTTP on this machine."""
