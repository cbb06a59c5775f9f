import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const lmStudioKeep: Dialect = {
  name: 'The text is about the first tokens to keep.',
  protocol: 'openai',
  server: 'LM Studio',
  source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
  script: () =>
    refuse(
      400,
      'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.',
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 32768, requests: 1, usage: [] },
};
