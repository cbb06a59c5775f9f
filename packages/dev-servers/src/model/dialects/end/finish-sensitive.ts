import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishSensitive: Dialect = {
  name: 'The filter has the finish reason sensitive.',
  protocol: 'both',
  server: 'Zhipu GLM',
  source: 'https://docs.bigmodel.cn/api-reference/%E6%A8%A1%E5%9E%8B-api/%E5%AF%B9%E8%AF%9D%E8%A1%A5%E5%85%A8',
  script: endingOnce('sensitive', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'refused' },
};
