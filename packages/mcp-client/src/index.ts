export {
  type CallToolResult,
  type FetchLike,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/client';
export {
  type CallRequest,
  createMcpConnections,
  type ListedTools,
  type McpConnectionDeps,
  type McpConnections,
  type RequestToken,
} from './connections.js';
export type { Answer, AskUser, Question, QuestionField } from './elicitation.js';
export { CLOSED, McpFailure, type Received, toFailure } from './mcp-failure.js';
export type { UnusableTool } from './repair/tools.js';
export { failedResult, MAX_RESULT_BYTES, type ToolPart, type ToolResult, toToolResult } from './tool-result.js';
