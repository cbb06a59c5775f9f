export { type CallToolResult, type FetchLike, ProtocolError, type Tool } from '@modelcontextprotocol/client';
export { createMcpConnections, type McpConnectionDeps, type McpConnections, type RequestToken } from './connections.js';
export { CLOSED, McpFailure, type Received, toFailure } from './mcp-failure.js';
export { failedResult, MAX_RESULT_BYTES, type ToolPart, type ToolResult, toToolResult } from './tool-result.js';
