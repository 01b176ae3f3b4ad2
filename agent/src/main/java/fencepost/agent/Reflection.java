package fencepost.agent;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Members of BookKeeper's objects that advice reaches but cannot be compiled against. */
public final class Reflection {
    private Reflection() {}

    /** The value of a field of the object or of a class above its own. */
    public static Object field(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(object);
            } catch (NoSuchFieldException absent) {
                continue;
            } catch (IllegalAccessException error) {
                throw new IllegalStateException(error);
            }
        }
        throw new IllegalStateException(object.getClass() + " has no field " + name);
    }

    /** Calls a method with one argument of type long, of the object's class or one above it. */
    public static void call(Object object, String name, long argument) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method method = type.getDeclaredMethod(name, long.class);
                method.setAccessible(true);
                method.invoke(object, argument);
                return;
            } catch (NoSuchMethodException absent) {
                continue;
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
        throw new IllegalStateException(object.getClass() + " has no method " + name);
    }
}
