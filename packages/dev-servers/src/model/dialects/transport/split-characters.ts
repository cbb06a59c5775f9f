import type { Dialect } from '../dialect.js';
import { choice, DONE, packets, raw, STOP, usageChunk } from '../wire.js';

export const splitCharacters: Dialect = {
  name: 'Packets split events and characters.',
  protocol: 'openai',
  server: 'any server behind a proxy',
  source: 'https://www.github.com/Nutlope/twitterbio/issues/25',
  script: () => raw(...packets(choice({ content: 'Grüße 🦙.' }) + STOP + usageChunk(20, 5) + DONE, 7)),
  expected: { text: 'Grüße 🦙.', finish: 'answered', requests: 1, usage: ['reported'] },
};
