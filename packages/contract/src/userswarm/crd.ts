import { API_GROUP, API_VERSION, USERSWARM_KIND, USERSWARM_PLURAL } from './names.js';
import { UserSwarmSpec, UserSwarmStatus } from './resource.js';
import { NAME_RULES } from './rules.js';
import { type StructuralSchema, structuralSchema } from './structural-schema.js';

interface PrinterColumn {
  name: string;
  type: 'string' | 'date';
  jsonPath: string;
  /** 1: only with `-o wide`. */
  priority?: 1;
}

const readyCondition = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

const PRINTER_COLUMNS: PrinterColumn[] = [
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Ready', type: 'string', jsonPath: readyCondition('status') },
  { name: 'Reason', type: 'string', jsonPath: readyCondition('reason') },
  { name: 'User', type: 'string', jsonPath: '.spec.userId' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Image', type: 'string', jsonPath: '.status.image', priority: 1 },
  { name: 'Namespace', type: 'string', jsonPath: '.spec.placement.runtimeNamespace', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: readyCondition('message'), priority: 1 },
];

/** Schema for a whole UserSwarm. */
function userSwarmSchema(): StructuralSchema {
  return {
    description: 'The runtime of one workspace: a pod with its ServiceAccount and Service.',
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      // Rules can use only declared fields; 253 is the API server's limit.
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 253 } } },
      spec: structuralSchema(UserSwarmSpec),
      status: structuralSchema(UserSwarmStatus),
    },
    'x-kubernetes-validations': NAME_RULES,
  };
}

/** The CustomResourceDefinition of UserSwarm. */
export function userSwarmCrd() {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${USERSWARM_PLURAL}.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      names: {
        kind: USERSWARM_KIND,
        listKind: `${USERSWARM_KIND}List`,
        plural: USERSWARM_PLURAL,
        singular: 'userswarm',
        shortNames: ['uswarm'],
        categories: ['uswarm'],
      },
      scope: 'Cluster',
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          selectableFields: [{ jsonPath: '.spec.userId' }],
          additionalPrinterColumns: PRINTER_COLUMNS,
          schema: { openAPIV3Schema: userSwarmSchema() },
        },
      ],
    },
  };
}
