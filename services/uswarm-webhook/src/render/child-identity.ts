import { childName, type UserSwarm, type UserSwarmSpec } from '@uswarm/contract/userswarm';

/** Name and namespace of one UserSwarm's children. */
export interface ChildIdentity {
  userSwarm: string;
  name: string;
  namespace: string;
}

export const childIdentityOf = (parent: UserSwarm, spec: UserSwarmSpec): ChildIdentity => ({
  userSwarm: parent.metadata.name,
  name: childName(parent.metadata.name),
  namespace: spec.placement.runtimeNamespace,
});
