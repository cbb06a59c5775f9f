import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const thinkTags: Dialect = {
  name: 'The text begins with thoughts between tags that are split over chunks.',
  protocol: 'openai',
  server: 'Amazon Nova and other models',
  source: 'https://github.com/LibreChat-AI/agents/pull/40',
  script: () =>
    raw(
      ...['<', 'thi', 'nk>Hm, ', 'a greeting.</', 'think', '>\n\n', 'Hel', 'lo.'].map((content) => choice({ content })),
      STOP,
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
