import type { Dialect } from '../dialect.js';
import { answer, hasImage, refuse } from '../wire.js';

export const imagesLlama: Dialect = {
  name: 'The server has no images.',
  protocol: 'openai',
  server: 'llama.cpp server',
  source: 'https://github.com/claraverse-space/ClaraVerse/issues/234',
  image: true,
  script: (_index, { raw: body }) =>
    hasImage(body)
      ? refuse(500, 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj')
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
