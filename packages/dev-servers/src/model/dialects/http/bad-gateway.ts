import type { Dialect } from '../dialect.js';
import { answer, refuse } from '../wire.js';

export const badGateway: Dialect = {
  name: 'A proxy responds with status 502 and a page of HTML.',
  protocol: 'both',
  server: 'Cloudflare in front of a provider',
  source: 'https://github.com/smallmain/vscode-unify-chat-provider/issues/59',
  script: (index) =>
    index === 0
      ? refuse(502, '', {
          headers: { 'content-type': 'text/html' },
          body: '<!DOCTYPE html><title>502: Bad gateway</title>',
        })
      : answer('Hello.'),
  expected: { text: 'Hello.', finish: 'answered', requests: 2, usage: ['reported'] },
};
