import { childName, type UserSwarm, type UserSwarmSpec } from '@uswarm/contract/userswarm';

/** The name and namespace of the children of one UserSwarm. */
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
