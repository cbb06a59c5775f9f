import type { MessageContent } from '@uswarm/contract';
import type { z } from 'zod';
import { visibleText } from '../../records/visible-text.js';
import { type SafeMarkdown, safeContent } from '../../turns/content/reply-text.js';
import { ImportFailed } from './import-failed.js';
import { ImportedAgent, type ImportedMessage } from './import-rows.js';

type Message = Pick<z.output<typeof ImportedMessage>, 'role' | 'status' | 'error_code'> & { content: MessageContent };

export interface ImportingContent {
  /** A new id. */
  id: (old: string) => string;
  markdown: Pick<SafeMarkdown, 'text'>;
}

const isOpen = (content: MessageContent): boolean =>
  content.type === 'action_card' && (content.selected_action_id ?? null) === null;

/** Nothing continues an answer in a copy, and no call waits behind its cards. */
export function importedStatus({ status, error_code, content }: Message): Pick<Message, 'status' | 'error_code'> {
  if (isOpen(content)) return { status: 'failed', error_code: error_code ?? 'runtime_lost' };
  if (status === 'pending') return { status: 'incomplete', error_code: 'runtime_lost' };
  return { status, error_code };
}

/**
 * With new ids, and as the platform would have stored it: only users write text that is not cleaned.
 *
 * @throws ImportFailed `rows_invalid` if the role never writes this type
 */
export function importedContent(to: ImportingContent, { role, content }: Message): MessageContent {
  if (role !== writerOf(content.type, role)) throw new ImportFailed('rows_invalid', `${role} with ${content.type}`);
  if (role === 'user') return content;
  const safe = safeContent(visible(content), to.markdown);
  if (safe.type === 'text') return { ...safe, text: to.markdown.text(safe.text) };
  return ended(withNewIds(safe, to.id));
}

function writerOf(type: MessageContent['type'], role: Message['role']): Message['role'] {
  if (type === 'text') return role === 'system' ? 'agent' : role;
  return type === 'system' ? 'system' : 'agent';
}

/** Also cleans plain texts, such as slugs. */
function visible<Value>(value: Value): Value {
  if (typeof value === 'string') return visibleText(value) as Value;
  if (Array.isArray(value)) return value.map(visible) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, visible(field)])) as Value;
}

function withNewIds(content: MessageContent, id: ImportingContent['id']): MessageContent {
  switch (content.type) {
    case 'artifact':
      return { ...content, artifact_id: id(content.artifact_id) };
    case 'workflow':
      return { ...content, workflow_id: id(content.workflow_id), execution_id: id(content.execution_id) };
    case 'delegation': {
      const agent = (one: typeof content.from) => (one ? { ...one, id: id(one.id), avatar: avatar(one.avatar) } : one);
      return { ...content, from: agent(content.from), to: agent(content.to) };
    }
    default:
      return content;
  }
}

const avatar = (url: string): string => (ImportedAgent.shape.avatar_url.safeParse(url).success ? url : '');

/** A copy has no turn that ends a call or a task. */
function ended(content: MessageContent): MessageContent {
  switch (content.type) {
    case 'action_card': {
      // The app that asks to open it was checked elsewhere.
      const { open_url: _, ...card } = content;
      return card;
    }
    case 'tool_status':
      return content.state === 'running' ? { ...content, state: 'failed' } : content;
    case 'delegation':
      return content.status === 'running' ? { ...content, status: 'failed' } : content;
    case 'workflow': {
      const steps = content.steps.map((step) =>
        step.status === 'running' || step.status === 'pending' ? { ...step, status: 'failed' as const } : step,
      );
      return { ...content, steps, status: content.status === 'running' ? 'failed' : content.status };
    }
    default:
      return content;
  }
}
