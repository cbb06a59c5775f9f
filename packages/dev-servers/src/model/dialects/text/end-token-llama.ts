import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const endTokenLlama: Dialect = {
  name: 'A token of the template ends the text, and the model goes on as the user.',
  protocol: 'both',
  server: 'Ollama with Llama 3',
  source: 'https://github.com/ollama/ollama/issues/3759',
  script: textingOnce('Hello.<|eot_id', '|><|start_head', 'er_id|>user<|e', 'nd_header_id|>', '\n\nThanks.'),
  expected: onlyText('Hello.'),
};
