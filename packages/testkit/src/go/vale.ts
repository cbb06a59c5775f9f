import { type GoProgram, goProgram } from './go-program.js';

/** Lints prose by the rules in hack/prose. */
const VALE: GoProgram = {
  name: 'vale',
  from: { package: 'github.com/vale-cli/vale/v3/cmd/vale' },
  version: 'v3.21.0',
  purpose: 'the linter of prose',
  cgo: true,
};

/** Its path; the first call on a machine builds it, in about a minute. @throws LocalError */
export const vale = (): Promise<string> => goProgram(VALE);
