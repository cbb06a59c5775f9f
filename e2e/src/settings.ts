import { readFileSync } from 'node:fs';
import path from 'node:path';
import { flag, loadConfig, port } from '@uswarm/service-kit';
import { z } from 'zod';

/** The images of a run by the names that the charts and fixtures know them by. */
const Images = z.record(z.string(), z.string().min(1));
export type Images = z.output<typeof Images>;

const Environment = z.object({
  E2E_KUBECONFIG: z.string().min(1),
  /** Required, so that tests do not run on the cluster that a kubeconfig happens to point to. */
  E2E_CONTEXT: z.string().min(1),
  /** A file `{"<name>": "<image>"}`. */
  E2E_IMAGES_FILE: z.string().min(1),
  /** Folder of the chart of the release before; its images are `previous-<name>`. */
  E2E_PREVIOUS_CHART: z.string().min(1),
  /** On 127.0.0.1, where the edge's node port is mapped to. */
  E2E_EDGE_PORT: port.default(30_080),
  /** What the API server writes down of its requests; clusters of our own have it. */
  E2E_AUDIT_LOG: z.string().min(1).optional(),
  /** Folder for everything that explains a failure. */
  E2E_ARTIFACTS: z.string().default('.cache/e2e'),
  /** Tests that take parts of the platform down may run. */
  E2E_DISRUPTIVE: flag.default(false),
});

export interface Settings {
  kubeconfig: string;
  context: string;
  images: Images;
  previousChart: string;
  edgePort: number;
  auditLog: string | undefined;
  artifacts: string;
  disruptive: boolean;
}

/** What the run is told by its environment. @throws ConfigError */
export function loadSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const config = loadConfig(Environment, env);
  return {
    kubeconfig: config.E2E_KUBECONFIG,
    context: config.E2E_CONTEXT,
    images: Images.parse(JSON.parse(readFileSync(config.E2E_IMAGES_FILE, 'utf8'))),
    previousChart: config.E2E_PREVIOUS_CHART,
    edgePort: config.E2E_EDGE_PORT,
    auditLog: config.E2E_AUDIT_LOG,
    artifacts: path.resolve(config.E2E_ARTIFACTS),
    disruptive: config.E2E_DISRUPTIVE,
  };
}

/** The image with this name. @throws Error naming those there are */
export function imageOf(images: Images, name: string): string {
  const image = images[name];
  if (image === undefined)
    throw new Error(`no image "${name}" in this run; there are: ${Object.keys(images).join(', ')}`);
  return image;
}
