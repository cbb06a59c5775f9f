import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTools, loadSettings, type Tools } from '../support/index.js';
import {
  type AdmissionOfChildren,
  type Child,
  containerOf,
  openAdmissionOfChildren,
  podOf,
} from '../support/admission-children.js';

// A stored Deployment that an administrator has changed, and the controller's updates.
const NAME = 'e2e-admission-old';

let tools: Tools;
let admission: AdmissionOfChildren;
let stored: Child;
beforeAll(async () => {
  tools = createTools(loadSettings());
  admission = await openAdmissionOfChildren(tools, { name: NAME, runtime: {} });
  stored = structuredClone(admission.children.Deployment);
  stored['spec'] = { ...(stored['spec'] as object), replicas: 0 };
  const added = structuredClone(stored);
  containerOf(added).env.push({ name: 'ADDED', value: 'by an administrator' });
  podOf(added)['nodeSelector'] = { pool: 'agents' };
  const { stdout } = await tools.kubectl(['create', '-o', 'json', '-f', '-'], { input: JSON.stringify(added) });
  stored = JSON.parse(stdout) as Child;
  // The Deployment controller writes the status meanwhile.
  delete stored.metadata['resourceVersion'];
});
afterAll(async () => {
  await tools?.kubectl(['delete', 'deployment', stored.metadata.name, '-n', stored.metadata.namespace]);
  await admission?.close();
});

const changed = (change: (deployment: Child) => void): Child => {
  const copy = structuredClone(stored);
  change(copy);
  return copy;
};

describe('an update of a stored Deployment by the controller', () => {
  it.each<[string, (deployment: Child) => void]>([
    ['starts the pod', (deployment) => void Object.assign(deployment['spec'] as object, { replicas: 1 })],
    [
      'changes a variable, and keeps the fields of others',
      (deployment) =>
        void (containerOf(deployment).env.find(({ name }) => name === 'USWARM_USER_ID')!.value = 'user-2'),
    ],
    [
      'removes the fields of others',
      (deployment) => {
        delete podOf(deployment)['nodeSelector'];
        containerOf(deployment).env = containerOf(deployment).env.filter(({ name }) => name !== 'ADDED');
      },
    ],
  ])('is accepted when it %s', async (_what, change) => {
    expect(await admission.refusal(changed(change), 'controller', 'replace')).toBeUndefined();
  });

  it.each<[string, (deployment: Child) => void, RegExp]>([
    [
      'changes the variable of another',
      (deployment) => void (containerOf(deployment).env.find(({ name }) => name === 'ADDED')!.value = 'x'),
      /has variables that uswarm does not set, or sets to another value: ADDED/,
    ],
    [
      'changes the field of another',
      (deployment) => void (podOf(deployment)['nodeSelector'] = { pool: 'evil' }),
      /spec.template.spec.nodeSelector/,
    ],
    ['removes the limits', (deployment) => void (containerOf(deployment).resources.limits = {}), /resources/],
    [
      'gives it to another owner',
      (deployment) => void ((deployment.metadata['ownerReferences'] as { name: string }[])[0]!.name = 'workspace-b'),
      /A child must/,
    ],
  ])('is rejected when it %s', async (_what, change, error) => {
    expect(await admission.refusal(changed(change), 'controller', 'replace')).toMatch(error);
  });
});
