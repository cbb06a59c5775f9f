import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const loadingHuggingFace: Dialect = {
  name: 'The server estimates how long it loads the model.',
  protocol: 'openai',
  server: 'Hugging Face',
  source: 'https://github.com/huggingface/transformers/issues/23793',
  script: (index) =>
    index === 0
      ? refuse(503, '', {
          body: JSON.stringify({ error: 'Model meta-llama/Llama-2-70b-chat is currently loading', estimated_time: 15 }),
        })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'], waits: [15_000] },
};
