"""Parts of Label Studio's files: packed brush runs, shapes in percent, tasks and their annotators."""
