import { goProgram, type GoProgram } from '@uswarm/dev-servers';

/** A prose linter; hack/prose has the rules. */
const VALE: GoProgram = {
  name: 'vale',
  from: { package: 'github.com/vale-cli/vale/v3/cmd/vale' },
  version: 'v3.21.0',
  purpose: 'the linter of prose',
  cgo: true,
};

/** Returns the path; the first call on a machine builds the program, in about a minute. @throws LocalError */
export const vale = (): Promise<string> => goProgram(VALE);
