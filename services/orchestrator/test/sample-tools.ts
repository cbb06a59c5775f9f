import { z } from 'zod';
import {
  defineExternalTool,
  definePlatformTool,
  type ExternalTool,
  type Plan,
  type ToolOutcome,
} from '../src/turns/tools/platform-tool.js';

/** Changes our data. @param prepare called before each execution; may throw */
export function countingTool(prepare?: () => void) {
  const counted = { total: 0 };
  const tool = definePlatformTool({
    name: 'count',
    description: 'Counts.',
    effect: 'own',
    switchedBy: 'memories',
    input: z.object({ by: z.number() }),
    describe: ({ by }) => `Counting ${by}`,
    prepare({ by }) {
      prepare?.();
      return async () => ({ text: `total ${(counted.total += by)}`, failed: false });
    },
  });
  return { counted, tool };
}

/** Changes another system. `sent` has the requests that left, with their keys. */
export function sendingTool({
  name = 'send',
  effect = 'once' as ExternalTool['effect'],
  plan = async (): Promise<Plan> => ({ key: 'k' }),
  answer = async (): Promise<ToolOutcome> => ({ text: 'sent', failed: false }),
} = {}) {
  const sent: { to: string; key: string }[] = [];
  const tool = defineExternalTool({
    name,
    description: 'Sends something.',
    effect,
    switchedBy: 'gmail',
    input: z.object({ to: z.string() }),
    describe: ({ to }) => `Sending to ${to}`,
    plan,
    send({ to }, key) {
      sent.push({ to, key });
      return answer();
    },
    lookUp: async () => undefined,
  });
  return { sent, tool };
}
