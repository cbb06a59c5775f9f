import { type AgentData, LIMITS, type MessageContent } from '@uswarm/contract';
import { oneLine } from '../../records/one-line.js';

export type DelegationContent = Extract<MessageContent, { type: 'delegation' }>;

export function taskPreview(task: string): string {
  const line = oneLine(task);
  return line.length <= LIMITS.taskPreview ? line : `${line.slice(0, LIMITS.taskPreview - 1).toWellFormed()}…`;
}

/** RES-071, RES-075 */
export const startedDelegation = (from: AgentData, to: AgentData, task: string): DelegationContent => ({
  type: 'delegation',
  from,
  to: { ...to, status: 'busy' },
  status: 'running',
  task_preview: taskPreview(task),
});

/** STATE-002, STATE-003 */
export const endedDelegation = (
  content: DelegationContent,
  status: Exclude<DelegationContent['status'], 'running'>,
): DelegationContent => ({
  ...content,
  ...(content.to && { to: { ...content.to, status: 'online' } }),
  status,
});

export interface TaskText {
  task: string;
  expected: string;
  context?: string | undefined;
}

/** @param files see `filesSection` */
export function taskPrompt(
  from: Pick<AgentData, 'name' | 'slug'>,
  { task, expected, context }: TaskText,
  files = '',
): string {
  return [
    `You work on a task of your colleague ${from.name} (@${from.slug}). Only this colleague receives your answer, which must ` +
      `contain the whole result in at most ${LIMITS.taskResultBytes / 1_024} KiB. Write a longer result as an artifact, and answer ` +
      'with its id and a summary. You cannot ask questions: decide, and state what you assumed.',
    `Task:\n${task.trim()}`,
    `Expected result:\n${expected.trim()}`,
    ...(context === undefined || context.trim() === '' ? [] : [`Context:\n${context.trim()}`]),
    ...(files === '' ? [] : [files]),
  ].join('\n\n');
}

const CUT_NOTE = '\n[The result was longer and is cut here.]';

export function boundedResult(text: string): string {
  if (Buffer.byteLength(text) <= LIMITS.taskResultBytes) return text;
  const bytes = Buffer.from(text).subarray(0, LIMITS.taskResultBytes - Buffer.byteLength(CUT_NOTE));
  // A character that was cut in the middle becomes a replacement character.
  return `${bytes.toString('utf8').replace(/\uFFFD$/, '')}${CUT_NOTE}`;
}
