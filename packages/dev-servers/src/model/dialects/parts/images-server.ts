import type { Dialect } from '../dialect.js';
import { answer, hasImage, refuse } from '../wire.js';

export const imagesServer: Dialect = {
  name: 'The server has no images, in other words.',
  protocol: 'both',
  server: 'llama.cpp server, older',
  source: 'https://github.com/ggml-org/llama.cpp/issues/13566',
  image: true,
  script: (_index, { raw: body }) =>
    hasImage(body) ? refuse(400, 'image input is not supported by this server') : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
