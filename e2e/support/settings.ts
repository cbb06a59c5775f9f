import { readFileSync } from 'node:fs';
import path from 'node:path';
import { flag, loadConfig, port } from '@uswarm/service-kit';
import { z } from 'zod';

/** The run's images by their names in charts and fixtures. */
const Images = z.record(z.string(), z.string().min(1));
export type Images = z.output<typeof Images>;

const Environment = z.object({
  E2E_KUBECONFIG: z.string().min(1),
  /** Required, so that tests never run on the current context by accident. */
  E2E_CONTEXT: z.string().min(1),
  /** JSON file `{"<name>": "<image>"}`. */
  E2E_IMAGES_FILE: z.string().min(1),
  /** Folder with the previous release's chart; its images are `previous-<name>`. */
  E2E_PREVIOUS_CHART: z.string().min(1),
  /** Port on 127.0.0.1 that is mapped to the edge's node port. */
  E2E_EDGE_PORT: port.default(30_080),
  /** API server audit log; only clusters from `npm run e2e` have it. */
  E2E_AUDIT_LOG: z.string().min(1).optional(),
  /** Folder for diagnostics. */
  E2E_ARTIFACTS: z.string().default('.cache/e2e'),
  /** The cluster's node count. */
  E2E_NODES: z.coerce.number().int().min(1).default(1),
  /** Enables tests that stop platform parts. */
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
  nodes: number;
  disruptive: boolean;
}

/** Reads the settings from the environment. @throws ConfigError */
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
    nodes: config.E2E_NODES,
    disruptive: config.E2E_DISRUPTIVE,
  };
}

/** Returns the image with this name. @throws Error with the known names */
export function imageOf(images: Images, name: string): string {
  const image = images[name];
  if (image === undefined)
    throw new Error(`no image "${name}" in this run; there are: ${Object.keys(images).join(', ')}`);
  return image;
}
