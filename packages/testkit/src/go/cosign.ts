import { goProgram, type GoProgram } from '@uswarm/dev-servers';

const COSIGN: GoProgram = {
  name: 'cosign',
  from: { package: 'github.com/sigstore/cosign/v3/cmd/cosign' },
  version: 'v3.1.3',
  purpose: 'the program that signs releases',
};

/** The program that signs container images and files. The first call on a machine builds it, in minutes. @throws LocalError */
export const cosign = (): Promise<string> => goProgram(COSIGN);
