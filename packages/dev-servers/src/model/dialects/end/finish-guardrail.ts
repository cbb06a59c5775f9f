import type { Dialect } from '../dialect.js';
import { onlyText } from '../expected.js';
import { endingOnce } from '../wire.js';

export const finishGuardrail: Dialect = {
  name: 'A guardrail ends the text.',
  protocol: 'both',
  server: 'Amazon Bedrock',
  source: 'https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/models/bedrock.py',
  script: endingOnce('guardrail_intervened', 'Half an ', 'ans'),
  expected: { ...onlyText('Half an ans'), finish: 'refused' },
};
