import type { Dialect } from '../dialect.js';
import { choice, DONE, raw, STOP } from '../wire.js';

export const usageInEachChunk: Dialect = {
  name: 'Each chunk has the usage so far.',
  protocol: 'openai',
  server: 'Gemini, OpenAI-compatible endpoint',
  source: 'https://github.com/ogx-ai/ogx/issues/5122',
  script: () => {
    const withUsage = (chunk: string, completion: number): string =>
      chunk.replace(
        /\}\n\n$/,
        `,"usage":{"prompt_tokens":20,"completion_tokens":${completion},"total_tokens":${20 + completion}}}\n\n`,
      );
    return raw(
      withUsage(choice({ content: 'Hel' }), 2),
      withUsage(choice({ content: 'lo.' }), 4),
      withUsage(STOP, 5),
      DONE,
    );
  },
  expected: {
    text: 'Hello.',
    finish: 'answered',
    requests: 1,
    usage: ['reported'],
    tokens: { prompt: 20, completion: 5 },
  },
};
