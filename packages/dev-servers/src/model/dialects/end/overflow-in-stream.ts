import type { Dialect } from '../dialect.js';
import { raw } from '../wire.js';

export const overflowInStream: Dialect = {
  name: 'The refusal for the size of the prompt follows status 200.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/ggml-org/llama.cpp/issues/14566',
  script: () =>
    raw(
      'data: {"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}\n\n',
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, requests: 1, usage: ['estimated'] },
};
