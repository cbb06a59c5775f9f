import { childName, type UserSwarm, type UserSwarmSpec } from '@uswarm/contract/userswarm';

/** Where the children of one UserSwarm lie and what they are called. */
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
