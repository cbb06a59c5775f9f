import { createHmac } from 'node:crypto';
import { LIMITS } from '@uswarm/contract';
import { visibleText } from '../../records/visible-text.js';
import type { StepRow, WorkflowRow } from './workflows.store.js';

const CUT_NOTE = '\n[The text was longer and is cut here.]';

/** Adds a note if the text is cut. @param bytes of UTF-8 */
export function boundedText(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(CUT_NOTE));
  // A character that is cut in the middle becomes a replacement character.
  return `${kept.toString('utf8').replace(/\uFFFD$/, '')}${CUT_NOTE}`;
}

const ID_CHARACTERS = 16;

/**
 * A step result in a block that its text cannot end: the block id is a keyed hash of the text. The system prompt tells
 * models to treat such blocks as data.
 *
 * @param key random, and newer than the result, so that no result author can compute an id
 */
function resultBlock(key: string, { step_id, name, agent_slug, status, result }: StepRow, bytes: number): string {
  const text = visibleText(boundedText(result ?? '', bytes));
  const id = createHmac('sha256', key).update(`${step_id}\n${text}`).digest('hex').slice(0, ID_CHARACTERS);
  const source = agent_slug.replaceAll(/[^\w-]/g, '_');
  return `Step “${name}” by @${agent_slug}, ${status}:\n<untrusted id="${id}" source="${source}">\n${text}\n</untrusted id="${id}">`;
}

/**
 * Pure.
 *
 * @param key see `resultBlock`
 * @param earlier steps whose results it needs
 */
export function stepPrompt(
  key: string,
  workflow: Pick<WorkflowRow, 'name'>,
  step: Pick<StepRow, 'name' | 'task'>,
  earlier: readonly StepRow[],
): string {
  return [
    `You work on the step “${step.name}” of the workflow “${workflow.name}”. Only later steps and the agent that started the ` +
      `workflow receive your answer, which must contain the whole result in at most ${LIMITS.taskResultBytes / 1_024} KiB. Write a ` +
      'longer result as an artifact, and answer with its id and a summary. You cannot ask questions: decide, and state what ' +
      'you assumed.',
    `Task:\n${step.task.trim()}`,
    ...(earlier.length === 0 ? [] : ['Results of earlier steps:']),
    ...earlier.map((each) => resultBlock(key, each, LIMITS.taskResultBytes)),
  ].join('\n\n');
}

/** Shown to users. Pure. */
export const endNote = ({ name, status }: Pick<WorkflowRow, 'name' | 'status'>): string =>
  status === 'completed' ? `The workflow “${name}” is completed.` : `The workflow “${name}” has failed.`;

/** Tells the agent that started a workflow its results. Pure. @param key see `resultBlock` */
export function reportPrompt(
  key: string,
  workflow: Pick<WorkflowRow, 'name' | 'status'>,
  steps: readonly StepRow[],
): string {
  const bytes = Math.min(LIMITS.taskResultBytes, Math.floor(LIMITS.workflowReportBytes / Math.max(1, steps.length)));
  return [
    `[Message of the app] The workflow “${workflow.name}” that you started has ended. Its status is “${workflow.status}”. Tell the ` +
      'user the results, and what failed. The user has not written a new message.',
    ...steps.map((step) => resultBlock(key, step, bytes)),
  ].join('\n\n');
}
