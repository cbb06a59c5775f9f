import type { Workspace } from '@uswarm/client';
import type { Tone } from '../ui/tone.js';

/** Explains a runtime state to the user. */
export function describeRuntime({ status, phase }: Workspace['runtime']): {
  label: string;
  tone: Tone;
  detail: string;
} {
  switch (status) {
    case 'ready':
      return { label: 'Ready', tone: 'ok', detail: 'The agents can answer.' };
    case 'provisioning':
      return phase === 'Pending'
        ? { label: 'Waits for its start', tone: 'plain', detail: 'The first message starts the agents.' }
        : { label: 'Starting', tone: 'accent', detail: 'The agents start. Messages are answered as soon as they run.' };
    case 'offline':
      return phase === 'Progressing'
        ? { label: 'Waking', tone: 'accent', detail: 'The agents wake up.' }
        : { label: 'Sleeping', tone: 'plain', detail: 'The next message wakes the agents.' };
    case 'failed':
      return {
        label: 'Failed',
        tone: 'bad',
        detail: 'The agents did not start. The operator was told; messages are kept.',
      };
    default:
      return { label: status, tone: 'plain', detail: '' };
  }
}
