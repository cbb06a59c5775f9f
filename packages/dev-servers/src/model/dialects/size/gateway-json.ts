import type { Dialect } from '../dialect.js';
import { refuse } from '../wire.js';

export const gatewayJson: Dialect = {
  name: 'The message of a gateway is the JSON of the provider.',
  protocol: 'both',
  server: 'gateways in front of Gemini',
  source: 'https://github.com/google-gemini/gemini-cli/issues/4231',
  script: () =>
    refuse(
      400,
      '{"error": {"code": 400, "message": "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}',
    ),
  expected: { text: '', error: 'model_rejected', contextOverflow: true, contextLimit: 1048576, requests: 1, usage: [] },
};
