import { parseEnv } from 'node:util';
import { jest } from '@jest/globals';
import { z } from 'zod';
import type { ModelPort } from '../src/models/port.js';
import { createProvider, modelVariables, providerOf } from '../src/models/providers.js';

export interface ExampleLine {
  /** Server name on the page. */
  server: string;
  environment: Record<string, string>;
}

/** The lines in docs/models.md that start local mode with a server. */
export function exampleLines(page: string): ExampleLine[] {
  return [...page.matchAll(/^(\S.*):\n\n```sh\n((?:[A-Z_]+=\S+ )+)npm start$/gm)].map(
    ([, title = '', variables = '']) => ({
      server: title.replace(/, started with .*/, ''),
      environment: parseEnv(variables.trim().replaceAll(' ', '\n')) as Record<string, string>,
    }),
  );
}

/** A runtime's port with the variables in a line. */
export function portOfLine(environment: Record<string, string>): ModelPort {
  const variables = z.object(modelVariables).parse(environment);
  return createProvider(providerOf(variables), variables);
}

/** Redirects all requests to this origin. @returns their original addresses, as they are made */
export function sendRequestsTo(origin: string): readonly string[] {
  const addresses: string[] = [];
  const send = globalThis.fetch;
  jest.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const address = new URL(input instanceof Request ? input.url : input);
    addresses.push(address.href);
    return send(new URL(`${address.pathname}${address.search}`, origin), init);
  });
  return addresses;
}
