// Compiles one SPIR-V compute shader with the Vulkan driver in use. Prints the driver's statistics as JSON, and writes
// its assembly listing. It uses VK_KHR_pipeline_executable_properties.
//
//   compile SHADER.spv BINDINGS LISTING
//
// BINDINGS has one letter for each binding of set 0: u for a uniform buffer, s for a storage buffer, - for none.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { MOST_BINDINGS = 32, PUSH_BYTES = 128 };

static void check(VkResult result, const char* call) {
  if (result >= 0) return;
  fprintf(stderr, "%s: VkResult %d\n", call, result);
  exit(1);
}

static uint32_t* read_words(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  uint32_t* words = malloc(*bytes);
  if (fread(words, 1, *bytes, file) != *bytes) exit(1);
  fclose(file);
  return words;
}

static VkPhysicalDevice first_gpu(void) {
  VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  VkInstance instance;
  check(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
  uint32_t count = 1;
  VkPhysicalDevice gpu = VK_NULL_HANDLE;
  check(vkEnumeratePhysicalDevices(instance, &count, &gpu), "vkEnumeratePhysicalDevices");
  if (count == 0) {
    fprintf(stderr, "the driver has no device\n");
    exit(1);
  }
  return gpu;
}

/// Opens a device with all features of the GPU.
static VkDevice open_device(VkPhysicalDevice gpu) {
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  VkPhysicalDeviceVulkan13Features v13 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, &executable};
  VkPhysicalDeviceVulkan12Features v12 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &v13};
  VkPhysicalDeviceVulkan11Features v11 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &v12};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11};
  vkGetPhysicalDeviceFeatures2(gpu, &features);
  const float priority = 1;
  const char* extensions[] = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
  VkDeviceQueueCreateInfo queue = {
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             &features,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue,
                             .enabledExtensionCount = 1,
                             .ppEnabledExtensionNames = extensions};
  VkDevice device;
  check(vkCreateDevice(gpu, &info, NULL, &device), "vkCreateDevice");
  return device;
}

static VkPipelineLayout make_layout(VkDevice device, const char* letters) {
  VkDescriptorSetLayoutBinding bindings[MOST_BINDINGS];
  uint32_t count = 0;
  for (uint32_t n = 0; letters[n] && count < MOST_BINDINGS; n++) {
    if (letters[n] == '-') continue;
    bindings[count++] = (VkDescriptorSetLayoutBinding){
        .binding = n,
        .descriptorType =
            letters[n] == 'u' ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .descriptorCount = 1,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  }
  VkDescriptorSetLayoutCreateInfo set_info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = count, .pBindings = bindings};
  VkDescriptorSetLayout set;
  check(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set), "vkCreateDescriptorSetLayout");
  VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, PUSH_BYTES};
  VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &set,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  VkPipelineLayout layout;
  check(vkCreatePipelineLayout(device, &info, NULL, &layout), "vkCreatePipelineLayout");
  return layout;
}

static VkPipeline compile(VkDevice device, const char* path, VkPipelineLayout layout) {
  VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.pCode = read_words(path, &module_info.codeSize);
  VkShaderModule module;
  check(vkCreateShaderModule(device, &module_info, NULL, &module), "vkCreateShaderModule");
  VkPipelineShaderStageCreateInfo stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                           .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                           .module = module,
                                           .pName = "dawn_entry_point"};
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                                               VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
                                      .stage = stage,
                                      .layout = layout};
  VkPipeline pipeline;
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
  return pipeline;
}

#define FUNCTION(name) PFN_##name name = (PFN_##name)vkGetDeviceProcAddr(device, #name)

static void print_statistics(VkDevice device, const VkPipelineExecutableInfoKHR* executable) {
  FUNCTION(vkGetPipelineExecutableStatisticsKHR);
  uint32_t count = 0;
  check(vkGetPipelineExecutableStatisticsKHR(device, executable, &count, NULL), "statistics");
  VkPipelineExecutableStatisticKHR* all = calloc(count, sizeof *all);
  for (uint32_t n = 0; n < count; n++) all[n].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  check(vkGetPipelineExecutableStatisticsKHR(device, executable, &count, all), "statistics");
  const char* separator = "{";
  for (uint32_t n = 0; n < count; n++, separator = ", ") {
    printf("%s\"%s\": ", separator, all[n].name);
    if (all[n].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)
      printf("%g", all[n].value.f64);
    else
      printf("%lld", (long long)all[n].value.i64);
  }
  printf("}\n");
}

static void write_assembly(VkDevice device, const VkPipelineExecutableInfoKHR* executable, const char* path) {
  FUNCTION(vkGetPipelineExecutableInternalRepresentationsKHR);
  uint32_t count = 0;
  check(vkGetPipelineExecutableInternalRepresentationsKHR(device, executable, &count, NULL), "representations");
  VkPipelineExecutableInternalRepresentationKHR* all = calloc(count, sizeof *all);
  for (uint32_t n = 0; n < count; n++)
    all[n].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  check(vkGetPipelineExecutableInternalRepresentationsKHR(device, executable, &count, all), "representations");
  for (uint32_t n = 0; n < count; n++) all[n].pData = malloc(all[n].dataSize);
  check(vkGetPipelineExecutableInternalRepresentationsKHR(device, executable, &count, all), "representations");
  FILE* file = fopen(path, "w");
  if (!file) {
    perror(path);
    exit(1);
  }
  for (uint32_t n = 0; n < count; n++)
    if (strcmp(all[n].name, "Assembly") == 0) fputs(all[n].pData, file);
  fclose(file);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: compile SHADER.spv BINDINGS LISTING\n");
    return 2;
  }
  VkDevice device = open_device(first_gpu());
  VkPipelineInfoKHR pipeline = {VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
                                .pipeline = compile(device, argv[1], make_layout(device, argv[2]))};
  VkPipelineExecutableInfoKHR executable = {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                            .pipeline = pipeline.pipeline};
  print_statistics(device, &executable);
  write_assembly(device, &executable, argv[3]);
  return 0;
}
