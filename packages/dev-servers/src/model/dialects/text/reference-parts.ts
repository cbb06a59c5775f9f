import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP, usageChunk } from '../wire.js';

export const referenceParts: Dialect = {
  name: 'Content is a list of references and text.',
  protocol: 'openai',
  server: 'Mistral',
  source: 'https://github.com/meilisearch/meilisearch/pull/6327',
  script: () =>
    raw(
      choice({
        content: [
          { type: 'reference', reference_ids: [1] },
          { type: 'text', text: 'Hello.' },
        ],
      }),
      STOP,
      usageChunk(20, 5),
      DONE,
    ),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
