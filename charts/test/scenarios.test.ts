import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith, kubeconform, kubeScore } from '@uswarm/testkit';
import { EXCEPTIONS } from './support/kube-score-exceptions.js';
import { writeSchemas } from './support/kube-schemas.js';
import { helm, repositoryFile } from './support/rendering.js';
import { SCENARIOS } from './support/value-sets.js';

/** The first run builds the programs and downloads the schemas. */
const FIRST_TIME_MS = 15 * 60_000;

const CRDS = repositoryFile('crds');
const files = (paths: string): { files: string[] } => ({ files: paths.split(' ').map(repositoryFile) });

/** Cloud kinds without published schemas; examples.test.ts compares their fields. */
const CLOUD_KINDS = ['BackendConfig', 'GCPBackendPolicy', 'HealthCheckPolicy'];

/** Program output, even if it reports faults. */
function judge(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      // Exit code 1 means that it reports faults.
      if (error !== null && error.code !== 1) reject(new Error(`${program}: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
    // A program that reads files can end before its input does.
    child.stdin?.on('error', () => undefined).end(input);
  });
}

let folder: string;
const rendered = new Map<string, string>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-scenarios-'));
  for (const path of SCENARIOS) rendered.set(path, await helm(['template'], {}, files(path)));
}, FIRST_TIME_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each(SCENARIOS)('the chart passes a strict lint with %s', async (path) => {
  expect(await helm(['lint', '--strict'], {}, files(path))).toContain('1 chart(s) linted, 0 chart(s) failed');
});

describeWith('go', 'rendered manifests validated against the schemas of Kubernetes', () => {
  interface Resource {
    filename: string;
    kind: string;
    name: string;
    status: string;
    msg: string;
  }
  const check = async (manifests: readonly string[]): Promise<Resource[]> => {
    const report = await judge(program, [...args, ...manifests], '');
    // A template without enabled parts renders an empty document.
    return (JSON.parse(report) as { resources: Resource[] }).resources.filter(({ kind, msg }) => kind + msg !== '');
  };
  const written = async (name: string, manifests: string): Promise<string> => {
    const file = join(folder, `${name.replaceAll(/[/ ]/g, '_')}.yaml`);
    await writeFile(file, manifests);
    return file;
  };

  let args: string[];
  let program: string;
  let found: Resource[];
  beforeAll(async () => {
    program = await kubeconform();
    const schemas = await mkdtemp(join(folder, 'schemas-'));
    args = ['-strict', '-verbose', '-output', 'json', '-schema-location', await writeSchemas(schemas)];
    found = await check(await Promise.all([...rendered].map(([path, manifests]) => written(path, manifests))));
  }, FIRST_TIME_MS);

  it.each(SCENARIOS)('are valid with %s', async (path) => {
    const resources = found.filter(({ filename }) => filename.endsWith(`/${path.replaceAll(/[/ ]/g, '_')}.yaml`));
    expect(resources.length).toBeGreaterThan(30);
    const own = resources.filter(({ kind }) => !CLOUD_KINDS.includes(kind));
    expect(own.filter(({ status }) => status !== 'statusValid')).toEqual([]);
  });

  it('include the definitions in crds/, which kubectl applies without the chart', async () => {
    const definitions = (await readdir(CRDS)).map((file) => join(CRDS, file));
    expect(await check(definitions)).toEqual(
      definitions.map((filename) =>
        expect.objectContaining({ filename, kind: 'CustomResourceDefinition', status: 'statusValid' }),
      ),
    );
  });

  it('include the Secrets of a production installation from a secret manager', async () => {
    const resources = await check([repositoryFile('deploy/production/external-secrets.yaml')]);
    expect(resources.length).toBeGreaterThan(8);
    expect(resources.filter(({ kind, status }) => kind !== 'ExternalSecret' || status !== 'statusValid')).toEqual([]);
  });

  it.each([
    ['a field that does not exist', 'v1', 'Service', 'spec: { portz: [] }', "'portz'"],
    [
      "one of a kind that is not Kubernetes' own",
      'monitoring.coreos.com/v1',
      'ServiceMonitor',
      'spec: { selector: {}, endpoints: [], port: a }',
      "'port'",
    ],
    [
      'a number for a name',
      'gateway.networking.k8s.io/v1',
      'HTTPRoute',
      'spec: { parentRefs: [{ name: 5 }] }',
      'parentRefs/0/name',
    ],
    ['an unknown field', 'uswarm.dev/v1alpha1', 'UserSwarm', 'spec: { userId: a, image: b }', "'image'"],
    [
      'a policy that External Secrets does not have',
      'external-secrets.io/v1',
      'ExternalSecret',
      'spec: { refreshPolicy: Never }',
      'refreshPolicy',
    ],
    ['an unknown kind', 'example.com/v1', 'Thing', 'spec: {}', 'could not find schema'],
    ['a key twice', 'v1', 'ConfigMap', 'data: { a: b, a: c }', 'already set'],
  ])('are invalid with %s', async (_fault, apiVersion, kind, body, says) => {
    const manifest = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n${body}\n`;
    const [resource] = await check([await written(kind, manifest)]);
    expect(resource).toMatchObject({
      status: expect.stringMatching(/^status(Invalid|Error)$/),
      msg: expect.stringContaining(says),
    });
  });
});

describeWith('go', 'rendered manifests checked by kube-score', () => {
  interface Complaint {
    scenario: string;
    check: string;
    object: string;
    says: string;
  }
  interface Scored {
    type_meta: { kind: string };
    object_meta: { name: string };
    checks: { check: { id: string }; grade: number; skipped: boolean; comments: { summary: string }[] | null }[];
  }
  const OPTIONAL = ['container-seccomp-profile', 'container-ports-check'];
  const GOOD = 10;
  let complaints: Complaint[];
  beforeAll(async () => {
    const program = await kubeScore();
    const optional = OPTIONAL.flatMap((name) => ['--enable-optional-test', name]);
    const args = ['score', '--output-format', 'json', '--kubernetes-version', 'v1.31', ...optional, '-'];
    const score = async ([scenario, manifests]: [string, string]): Promise<Complaint[]> => {
      const scored = JSON.parse(await judge(program, args, manifests)) as Scored[];
      return scored.flatMap((object) => complaintsOf(scenario, object));
    };
    complaints = (await Promise.all([...rendered].map(score))).flat();
  }, FIRST_TIME_MS);

  const complaintsOf = (scenario: string, { object_meta: { name: object }, checks }: Scored): Complaint[] =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < GOOD)
      .flatMap(({ check, comments }) =>
        (comments ?? [{ summary: '' }]).map(({ summary: says }) => ({ scenario, check: check.id, object, says })),
      );
  const covers = (exception: (typeof EXCEPTIONS)[number], complaint: Complaint): boolean =>
    exception.check === complaint.check &&
    (exception.objects?.includes(complaint.object) ?? true) &&
    (exception.scenarios?.test(complaint.scenario) ?? true) &&
    complaint.says.includes(exception.says ?? '');

  it.each(SCENARIOS)('follow its rules, apart from listed exceptions, with %s', (path) => {
    const said = complaints.filter(({ scenario }) => scenario === path);
    expect(said.filter((each) => !EXCEPTIONS.some((exception) => covers(exception, each)))).toEqual([]);
  });

  it('need every listed exception', () => {
    expect(EXCEPTIONS.filter((exception) => !complaints.some((each) => covers(exception, each)))).toEqual([]);
  });
});
