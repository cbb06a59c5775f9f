import type { ShownMessage } from './workspace.js';

type Status =
  | { type: 'running' }
  | { type: 'complete'; reason: 'stop' }
  | { type: 'incomplete'; reason: 'error' | 'cancelled'; error?: string };
type Part =
  | { type: 'text'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; args: Record<string, string>; result?: string }
  | { type: 'data'; name: string; data: unknown };

/** A message in the form of assistant-ui: `useExternalStoreRuntime({ messages, convertMessage: toThreadMessage, … })`. */
export function toThreadMessage(shown: ShownMessage) {
  const { key: id, message } = shown;
  const common = {
    id,
    ...(message && { createdAt: new Date(message.created_at) }),
    metadata: { custom: { uswarm: shown } },
  };
  if (shown.role === 'user')
    return { ...common, role: 'user' as const, content: [{ type: 'text' as const, text: shown.text }] };
  return { ...common, role: 'assistant' as const, content: [partOf(shown)], status: statusOf(shown) };
}

function statusOf({ message }: ShownMessage): Status {
  const [status, error] = [message?.extended_status, message?.error];
  if (status === 'pending') return { type: 'running' };
  if (status !== 'failed' && status !== 'incomplete') return { type: 'complete', reason: 'stop' };
  return {
    type: 'incomplete',
    reason: error?.code === 'stopped' ? 'cancelled' : 'error',
    ...(error && { error: error.message }),
  };
}

/** Other content is data with the name of its type, for `makeAssistantDataUI`. */
function partOf({ content, text, key }: ShownMessage): Part {
  switch (content.type) {
    case 'text':
    case 'loading':
    case 'system':
      return { type: 'text', text };
    case 'tool_status': {
      const { tool: toolName, description, state } = content;
      const result = state === 'running' ? {} : { result: state };
      return { type: 'tool-call', toolCallId: key, toolName, args: { description }, ...result };
    }
    default:
      return { type: 'data', name: content.type, data: content };
  }
}
