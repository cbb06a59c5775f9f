import type { Dialect } from '../dialect.js';
import { onlyCalls } from '../expected.js';
import { arrived, call, FINISHED, raw, refuse, toolCalls } from '../wire.js';

export const thoughtSignature: Dialect = {
  name: 'The signature of a call must come back with the call.',
  protocol: 'openai',
  server: 'Gemini 3, OpenAI-compatible endpoint',
  source: 'https://github.com/open-webui/computer/issues/224',
  script(index, received) {
    if (index === 0) {
      const signed = { extra_content: { google: { thought_signature: 'c2lnbmVk' } } };
      return raw(toolCalls({ ...call({ id: 'a' }, 'web_search', '{"query":"one"}'), ...signed }), ...FINISHED);
    }
    const { assistant } = arrived(received);
    const isSigned = JSON.stringify(assistant['tool_calls']).includes('"thought_signature":"c2lnbmVk"');
    return isSigned ? undefined : refuse(400, 'Function call is missing a thought_signature in functionCall parts.');
  },
  expected: onlyCalls({ name: 'web_search', input: { query: 'one' } }),
};
