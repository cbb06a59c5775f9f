import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { goProgram, type GoProgram } from '@uswarm/dev-servers';

const purpose = 'the programs that check charts';
/** Generates a chart README from the comments on its values. */
const HELM_DOCS: GoProgram = {
  name: 'helm-docs',
  from: { package: 'github.com/norwoodj/helm-docs/cmd/helm-docs' },
  version: 'v1.14.2',
  purpose,
};
/** Validates manifests with JSON schemas. */
const KUBECONFORM: GoProgram = {
  name: 'kubeconform',
  from: { package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
  version: 'v0.8.0',
  purpose,
};
/** Reports bad practice in manifests. */
const KUBE_SCORE: GoProgram = {
  name: 'kube-score',
  from: { package: 'github.com/zegl/kube-score/cmd/kube-score' },
  version: 'v1.20.0',
  purpose,
};

/** Contains an in-memory OCI registry. */
const CRANE: GoProgram = {
  name: 'crane',
  from: { package: 'github.com/google/go-containerregistry/cmd/crane' },
  version: 'v0.22.1',
  purpose,
};

const ALL = [KUBECONFORM, HELM_DOCS, CRANE, KUBE_SCORE];

/** Return paths; the first call on a machine builds all programs, in about two minutes. @throws LocalError */
export const kubeconform = (): Promise<string> => goProgram(KUBECONFORM, ALL);
export const kubeScore = (): Promise<string> => goProgram(KUBE_SCORE, ALL);
export const crane = (): Promise<string> => goProgram(CRANE, ALL);

/** Generates a chart README from README.md.gotmpl and the comments on its values. @throws LocalError */
export async function chartReadme(chart: string): Promise<string> {
  const args = ['--dry-run', '--chart-search-root', chart, '--sort-values-order', 'file', '--log-level', 'error'];
  const { stdout } = await promisify(execFile)(await goProgram(HELM_DOCS, ALL), args, { timeout: 60_000 });
  return stdout;
}
