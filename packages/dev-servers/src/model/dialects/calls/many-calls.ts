import type { Dialect } from '../dialect.js';
import type { ScriptedCall } from '../../model-script.js';
import { calling } from '../wire.js';

const callsOf = (count: number): ScriptedCall[] =>
  Array.from({ length: count }, (_, index) => ({ name: 'web_search', arguments: { query: `question ${index}` } }));

/** @param expected the calls that the client keeps */
const dialect = (
  source: string,
  { name, server, count, expected = count }: { name: string; server: string; count: number; expected?: number },
): Dialect => ({
  name,
  protocol: 'both',
  server,
  source,
  script: calling(...callsOf(count)),
  expected: {
    text: '',
    finish: 'calls',
    calls: callsOf(expected).map((call) => ({ name: call.name, input: call.arguments as Record<string, unknown> })),
    requests: 1,
    usage: ['reported'],
  },
});

const SEVERAL = 'https://github.com/XiaomiMiMo/MiMo-Code/issues/2475';
const HUNDREDS = 'https://github.com/pydantic/pydantic-ai/issues/1105';

export const eightCalls = dialect(SEVERAL, { name: 'A response has 8 calls.', server: 'MiMo', count: 8 });
export const nineCalls = dialect(SEVERAL, { name: 'A response has 9 calls.', server: 'MiMo', count: 9 });
export const fortyCalls = dialect(HUNDREDS, { name: 'A response has 40 calls.', server: 'OpenAI', count: 40 });
export const hundredsOfCalls = dialect(HUNDREDS, {
  name: 'A response has 200 calls, but the next request may have 128 only.',
  server: 'OpenAI',
  count: 200,
  expected: 128,
});
