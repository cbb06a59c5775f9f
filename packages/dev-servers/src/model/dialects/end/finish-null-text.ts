import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { choice, DONE, raw, usageChunk } from '../wire.js';

export const finishNullText: Dialect = {
  name: 'The finish reason is the text null until the end.',
  protocol: 'openai',
  server: 'DashScope',
  source: 'https://github.com/songquanpeng/one-api/blob/main/relay/adaptor/ali/main.go',
  script: () =>
    raw(
      choice({ content: 'Hel' }, 'null'),
      choice({ content: 'lo.' }, 'null'),
      choice({}, 'stop'),
      usageChunk(20, 5),
      DONE,
    ),
  expected: onlyText('Hello.'),
};
