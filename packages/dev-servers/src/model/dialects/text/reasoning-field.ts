import type { Dialect } from '../dialect.js';
import { ANSWER, choice, raw } from '../wire.js';

export const reasoningField: Dialect = {
  name: 'Reasoning is in the field reasoning, beside an empty text.',
  protocol: 'openai',
  server: 'Ollama and newer versions of vLLM',
  source: 'https://github.com/ahwurm/localharness/issues/142',
  script: () =>
    raw(choice({ content: '', reasoning: 'I say ' }), choice({ content: '', reasoning: 'hello.' }), ...ANSWER),
  expected: { text: 'Hello.', finish: 'answered', requests: 1, usage: ['reported'] },
};
