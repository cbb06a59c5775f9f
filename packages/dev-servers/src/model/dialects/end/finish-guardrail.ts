import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishGuardrail: Dialect = {
  name: 'A guardrail ends the text.',
  protocol: 'both',
  server: 'Amazon Bedrock',
  source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html',
  script: endingOnce('guardrail_intervened', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'refused' },
};
