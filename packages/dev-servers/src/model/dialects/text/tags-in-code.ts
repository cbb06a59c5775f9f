import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const tagsInCode: Dialect = {
  name: 'Code and sentences mention tags of thoughts.',
  protocol: 'both',
  server: 'any model that explains templates',
  source: 'https://github.com/nbramia/LifeOS/pull/568',
  script: textingOnce('The <think> t', 'ag:\n```\n<thin', 'k>\nHm.\n</thin', 'k>\n```\nUse `<', '/think>`.'),
  expected: onlyText('The <think> tag:\n```\n<think>\nHm.\n</think>\n```\nUse `</think>`.'),
};
