import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, refuse, STOP } from '../wire.js';

export const streamOptionsExtra: Dialect = {
  name: 'The parameter stream_options is an extra input.',
  protocol: 'openai',
  server: 'vLLM before 0.4',
  source: 'https://github.com/modelscope/ms-agent/issues/489',
  script: (_index, { raw: body }) =>
    'stream_options' in body
      ? refuse(
          400,
          "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {}}]",
          { type: 'BadRequestError' },
        )
      : raw(choice({ content: 'Hello.' }), STOP, DONE),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['estimated'] },
};
