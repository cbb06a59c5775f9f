import { API_GROUP } from '@uswarm/contract/userswarm';

// Deployment annotations. A change does not restart the pod.

/** Hash that the last applied pod template had; shows whether an observed Deployment is up to date. */
export const REVISION = `${API_GROUP}/template-revision`;
/** The template itself, so that it can be rendered unchanged again. */
export const TEMPLATE = `${API_GROUP}/template`;
/** The platform revision that rendered the template. */
export const PLATFORM_REVISION = `${API_GROUP}/platform-revision`;
/** Hash of the rendered spec without `suspend`. */
export const SPEC_REVISION = `${API_GROUP}/spec-revision`;

/** Pod template annotation with the revision of its Secrets, so that changed Secrets take effect. */
export const SECRET_REVISION = `${API_GROUP}/secret-revision`;

export const OWN_ANNOTATIONS = [REVISION, PLATFORM_REVISION, SPEC_REVISION, TEMPLATE];
