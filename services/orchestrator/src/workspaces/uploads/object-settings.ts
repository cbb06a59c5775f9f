interface ObjectConfig {
  OBJECT_STORE: 'file' | 's3';
  OBJECT_DIRECTORY?: string | undefined;
  S3_ENDPOINT?: string | undefined;
  S3_REGION: string;
  S3_BUCKET?: string | undefined;
  S3_PREFIX: string;
  S3_ACCESS_KEY_ID?: string | undefined;
  S3_SECRET_ACCESS_KEY?: string | undefined;
  S3_PATH_STYLE?: boolean | undefined;
}

/** @throws Error if a required setting is missing */
export function objectSettings(config: ObjectConfig) {
  const { OBJECT_STORE, OBJECT_DIRECTORY: directory, S3_ENDPOINT: endpoint, S3_BUCKET: bucket } = config;
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (OBJECT_STORE === 'file') {
    if (directory === undefined) throw new Error('OBJECT_DIRECTORY is not set; OBJECT_STORE=file needs it');
    return { store: 'file', directory } as const;
  }
  if (bucket === undefined) throw new Error('S3_BUCKET is not set; OBJECT_STORE=s3 needs it');
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    throw new Error('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set together');
  }
  return {
    store: 's3',
    bucket,
    region: config.S3_REGION,
    prefix: config.S3_PREFIX,
    pathStyle: config.S3_PATH_STYLE ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey } }),
  } as const;
}
