import { goProgram, type GoProgram } from '@uswarm/dev-servers';

/** Checks syntax, types and permissions in GitHub workflows. */
const ACTIONLINT: GoProgram = {
  name: 'actionlint',
  from: { package: 'github.com/rhysd/actionlint/cmd/actionlint' },
  version: 'v1.7.12',
  purpose: 'the linter of workflows',
};

/** Returns the path; the first call on a machine builds the program, in about half a minute. @throws LocalError */
export const actionlint = (): Promise<string> => goProgram(ACTIONLINT);
