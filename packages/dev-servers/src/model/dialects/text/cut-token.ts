import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { textingOnce } from '../wire.js';

export const cutToken: Dialect = {
  name: 'The beginning of a token of the template ends the text.',
  protocol: 'both',
  server: 'DeepSeek V3.2 on Bedrock',
  source: 'https://github.com/stdapi-ai/stdapi.ai/issues/182',
  script: textingOnce('Hello.<', '｜DSML｜f', 'unction', '_calls'),
  expected: onlyText('Hello.'),
};
