import type { Tone } from '../ui/tone.js';

/** Of a call, a task or a workflow step. */
export const LABELS: Readonly<Record<string, string>> = {
  running: 'Running',
  completed: 'Done',
  failed: 'Failed',
  pending: 'Waits',
};

/** By the state of a call, a task or a workflow. */
export const TONES: Readonly<Record<string, Tone>> = { running: 'accent', completed: 'ok', failed: 'bad' };
