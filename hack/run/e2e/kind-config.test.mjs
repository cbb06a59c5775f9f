import { describe, expect, it } from '@jest/globals';
import { auditPolicy, kindConfig } from './kind-config.mjs';

describe('the test cluster', () => {
  const config = JSON.parse(kindConfig({ policyFolder: '/state/policy', logFolder: '/state/log' }));
  const { apiServer } = JSON.parse(config.kubeadmConfigPatches[0]);

  it('enables the admission plugin for owner references', () => {
    expect(apiServer.extraArgs['enable-admission-plugins'].split(',')).toEqual([
      'NodeRestriction',
      'OwnerReferencesPermissionEnforcement',
    ]);
  });

  it('mounts every audit path of the API server from this machine through the node', () => {
    const [{ extraMounts }] = config.nodes;
    const mounted = new Map(extraMounts.map(({ containerPath, hostPath }) => [containerPath, hostPath]));
    const path = (argument) => apiServer.extraArgs[argument].split('/').slice(0, -1).join('/');
    expect(mounted.get(path('audit-policy-file'))).toBe('/state/policy');
    expect(mounted.get(path('audit-log-path'))).toBe('/state/log');
    expect(apiServer.extraVolumes.map(({ mountPath }) => mountPath)).toEqual([...mounted.keys()]);
  });

  it('keeps the request limits of the built-in controllers unless they are lifted', () => {
    const lifted = JSON.parse(kindConfig({ policyFolder: '', logFolder: '', limitsLifted: true }));
    const patch = JSON.parse(lifted.kubeadmConfigPatches[0]);
    for (const part of ['controllerManager', 'scheduler']) {
      expect(Object.keys(patch[part].extraArgs)).toEqual(['kube-api-qps', 'kube-api-burst']);
    }
    expect(Object.keys(JSON.parse(config.kubeadmConfigPatches[0]))).toEqual(['kind', 'apiServer']);
  });

  it('uses the same cgroup driver for the kubelet and for each runtime of containerd', () => {
    const kubelet = config.kubeadmConfigPatches.map((patch) => JSON.parse(patch)).at(-1);
    expect(kubelet).toEqual({ kind: 'KubeletConfiguration', cgroupDriver: 'cgroupfs' });
    const [patch] = config.containerdConfigPatches;
    expect(patch.match(/SystemdCgroup = \w+/g)).toEqual(['SystemdCgroup = false', 'SystemdCgroup = false']);
  });

  it('has three nodes that run pods, each in its own zone, if three are wanted', () => {
    const { nodes } = JSON.parse(kindConfig({ policyFolder: '', logFolder: '', nodes: 3 }));
    expect(nodes.map(({ role }) => role)).toEqual(['control-plane', 'worker', 'worker']);
    expect(nodes.map(({ labels }) => labels['topology.kubernetes.io/zone'])).toEqual(['a', 'b', 'c']);
    expect(JSON.parse(nodes[0].kubeadmConfigPatches[0]).nodeRegistration.taints).toEqual([]);
    expect(config.nodes).toHaveLength(1);
    expect(config.nodes[0]).not.toHaveProperty('labels');
  });

  it('opens ports on loopback only', () => {
    expect(config.networking.apiServerAddress).toBe('127.0.0.1');
    expect(config.nodes).toHaveLength(1);
    for (const { listenAddress } of config.nodes[0].extraPortMappings) expect(listenAddress).toBe('127.0.0.1');
  });

  it('never logs the content of a request', () => {
    expect(new Set(auditPolicy.rules.map(({ level }) => level))).toEqual(new Set(['None', 'Metadata']));
    expect(auditPolicy.rules.at(-1)).toEqual({ level: 'Metadata' });
  });
});
