/** Tables of labels, told from pictures by the ends of their names. */
export const LABEL_FILES = ".csv,.json,.parquet";

export function isLabelFile(file: Pick<File, "name">): boolean {
  return LABEL_FILES.split(",").some((end) => file.name.toLowerCase().endsWith(end));
}
